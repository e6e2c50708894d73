"""What went wrong in Kafka's history, each by the KAFKA-number under which it was mended.

Every scenario here is answered differently by a release that has the fault and by one that has not; the
reference's table of behaviours says which is which. So they pin what holds on both sides, and no more.
"""
