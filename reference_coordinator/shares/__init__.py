"""Records that share groups acquire and acknowledge, and the state of it that the share coordinator keeps.

Source: SharePartitionManager, ShareCoordinatorShard (4.3.1).
"""
