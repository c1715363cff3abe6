"""Every plot, in one style, with its alternative text and caption.

Each subject has a module with functions marked by `drawn`; a notebook draws with one of them and
hands the figure to `page.output.show`.
"""
