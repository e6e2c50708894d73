"""Make conversations that depend on what earlier ones have reached."""

from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Final

from harness.scenario.crossings import aims, cells_shown
from harness.search.corpus import Corpus
from harness.search.coverage import Branches, Pair
from harness.search.made import Made
from harness.search.maker import Maker
from harness.search.sides import Side
from harness.search.tempo import VIRTUAL, Tempo

STEPS_EACH: Final = 40
"""The approximate number of steps in a conversation."""
_STEPS_MORE: Final = 16
"""The number of steps that a conversation gets for its own, beyond those that it continues."""
_STEPS_A_MOVE: Final = 2


class Steering:
    """Makes each conversation begin anew, or continue one that reached something."""

    def __init__(self, corpus: Corpus | None) -> None:
        """Begin without counts.

        Args:
            corpus: the conversations to continue; if None, every conversation begins anew.
        """
        self._corpus = corpus
        self._noted = Corpus() if corpus is None else corpus
        self._branches = Branches()
        self._aims = aims()

    @property
    def pairs(self) -> Collection[Pair]:
        """The pairs of a state and an answered request that were reached."""
        return self._noted.reached.keys()

    @property
    def branches(self) -> int:
        """How many branches of the reference were taken, if Python reports them."""
        return self._branches.taken

    async def made(
        self,
        seed: str,
        side: Side,
        versions: Mapping[str, Sequence[int]],
        *,
        script_id: str,
        tempo: Tempo = VIRTUAL,
        config: Mapping[str, str] | None = None,
    ) -> Made:
        """Make a conversation; the same sequence of seeds makes the same conversations.

        Args:
            seed: the seed of all random choices.
            side: the reference on which the conversation is made.
            versions: the versions that both sides serve, by API.
            script_id: the id of the conversation's script.
            tempo: how long things may take.
            config: the broker configuration; chosen at random if None.
        """
        chance = Random(f"{seed}/steering")  # noqa: S311 - repeatable randomness, not a secret
        # What was reached after a restart is not reached without it.
        corpus = None if tempo.restarts else self._corpus
        kept = None if corpus is None else corpus.next(chance, config)
        begins = () if kept is None else kept.moves
        config = config if kept is None else kept.broker_config
        favour = {} if self._corpus is None else {"favour": self._corpus.favour}
        maker = Maker(seed, versions, tempo, config, begins, **favour)
        before = self._branches.taken
        with self._branches.watched():
            steps_max = max(STEPS_EACH, len(begins) * _STEPS_A_MOVE + _STEPS_MORE)
            made = await maker.make(side, script_id=script_id, steps_max=steps_max)
        if tempo.restarts:
            return made
        shown = self._aims & cells_shown(made.script)
        self._aims -= shown
        is_new = self._branches.taken > before or bool(shown)
        self._noted.add(made.reached, made.moves, made.script.broker_config, is_new=is_new)
        return made
