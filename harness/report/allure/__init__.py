"""Allure results and Allure's own pages."""
