"""A transparent proxy that keeps every byte which any client and a cluster exchange, for a trace of it later.

    with Tap("127.0.0.1:9092", Path("reports/RUN/traces/kafka-3.9.2")) as tap:
        start_clients(bootstrap=tap.bootstrap_servers)
        start_others(bootstrap=tap.conversation("eager-rebalance"))
    for event in tap.events(run_id=run_id, target="kafka-3.9.2"):
        ...

While it taps, bytes are passed and kept (`journal.bin`); what they mean is found out afterwards. Clients are
led to it because it changes the addresses in the responses that carry some, and nothing else.
"""

from harness.tap.reading import events_of_journal
from harness.tap.tap import Tap, TapError

__all__ = ["Tap", "TapError", "events_of_journal"]
