"""A user's own tables, in and out."""
