package conformance.client;

/** A member of a group of a kind that not every release has; it has verbs of its own. */
interface Member extends Verbs {
    /** Return whether it is to be given its turn until the next command comes. */
    boolean polls();

    /** Give the library its turn. */
    void poll();

    void close();
}
