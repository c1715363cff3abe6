"""The page with sliders: its data, computed by the tested package."""
