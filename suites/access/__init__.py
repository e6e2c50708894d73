"""Authorization: which requests the coordinator answers, and to whom, on a broker with an authorizer."""
