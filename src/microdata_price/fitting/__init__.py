"""The five methods that turn noisy answers into tables."""
