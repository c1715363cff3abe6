"""Numbers and tables of the chapters, one file a notebook; the prose stands in the notebooks."""
