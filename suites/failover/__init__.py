"""The state of groups, offsets and transactions after another broker has become their coordinator."""
