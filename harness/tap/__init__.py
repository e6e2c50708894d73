"""A transparent proxy that records every byte between clients and a cluster, for a trace of it later.

    with Tap("127.0.0.1:9092", Path("reports/RUN/record/traces/kafka-3.9.2")) as tap:
        start_clients(bootstrap=tap.bootstrap_servers)
        start_others(bootstrap=tap.conversation("eager-rebalance"))
    for event in tap.events(run_id=run_id, target="kafka-3.9.2"):
        ...

While it runs, it passes bytes on and stores them (`journal.bin`); they are decoded afterwards. Clients come
to it because it changes the addresses in responses that contain some. It changes nothing else.
"""

from harness.tap.reading import events_of_journal
from harness.tap.tap import Tap, TapError

__all__ = ["Tap", "TapError", "events_of_journal"]
