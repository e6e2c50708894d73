"""What a coordinator answers while it loads its log."""
