"""What a notebook puts on its page: figures in one style, numbers, sentences."""
