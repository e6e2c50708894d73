"""What groups, offsets and transactions are when another broker has become their coordinator."""
