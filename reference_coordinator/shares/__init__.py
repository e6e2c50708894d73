"""Records that share groups acquire and acknowledge, and their state, which the share coordinator stores.

Source: SharePartitionManager, ShareCoordinatorShard (4.3.1).
"""
