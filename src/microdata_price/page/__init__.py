"""What a notebook puts on its page: figures, tables, sentences with numbers."""
