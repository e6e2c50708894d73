"""Compare our regular expressions with RE2/J, or record what it answers.

`python -m reference_coordinator.groups.consumer.tests.regex_answers.beside_re2j --jar RE2J.jar RELEASE`
needs a JDK, and the RE2/J that the release of Kafka brings.
"""

import argparse
import json
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from random import Random

from reference_coordinator.groups.consumer.regex import InvalidRegularExpressionError, compile_regex
from reference_coordinator.profile.profiles import Profile, profile_for

PROGRAM = Path(__file__).with_name("RegexAnswers.java")
RECORDED = Path(__file__).with_name("recorded.jsonl")
TOPICS = re.findall(
    r"\S+",
    """
    a b c ab abc aa aaa topic Topic A B K k s 1 12 a-b a.b a_b - _ . aab bbc orders-1 orders.2 __x b1 ba ca
    """,
)
ATOMS = re.findall(
    r"\S+",
    r"""
a b c - _ . .* a+ b? [a-c] [^a] ( (?: ) | ^ $ \d \w \s \D \W \S \b \B \A \z \Z \C \Q \E \. * + ? {2} {1,} {,2}
{2,1} {1001} {0} {01} {1,2 } [ ] [a [^ []a] [[:alpha:]] [[:foo:]] [:alpha:] [\d] [\w-x] [z-a] [a- \pL \p{Lu}
\P{Greek} \p{Foo} \p \p{ \p{^L} \x41 \x{41} \x{110000} \x \x4 \1 \12 \0 \01 \08 \8 \q \_ \- \ (?i) (?i (?s)
(?m) (?U) (?x) (?-i) (?i-) (?-) (? (?P<n> (?<n> (?P<n (?P<1> (?P<> (?P=n) (?#c) (?= (?! (?<= (?<! (?> (?i:
(?^ A B é K topic 1 2 { a{2}{3} (?P<é> \h \R \X \e \cA \a \f \n \v \t \é [a&&b] [^\n] [\Q] [a-\d]
[--a] [\b] [\pL] [\p{^L}] [[:^alpha:]] [[:word:]] (?i)[k] (?i)s \pé \p{Any} \p{L&} \p{lu} \p{Latin} ++ *? +?
?? {2}? \u0041 \N
""",
)
MOST = 7


def expressions(random: Random, count: int) -> list[str]:
    """Expressions of a few pieces, many of them faulty."""
    return ["".join(random.choices(ATOMS, k=random.randint(1, MOST))) for _ in range(count)]


def our_answer(text: str, profile: Profile) -> str:
    try:
        expression = compile_regex(text, profile)
    except InvalidRegularExpressionError as error:
        return f"-{error.__cause__}"
    return "+" + "".join("1" if expression.matches(topic) else "0" for topic in TOPICS)


def re2js_answers(jar: Path, asked: Sequence[str]) -> list[str]:
    lines = [" ".join(TOPICS), *(b64encode(text.encode()).decode() for text in asked)]
    program = ["java", "-cp", str(jar), str(PROGRAM)]
    result = subprocess.run(program, input="\n".join(lines).encode(), capture_output=True, check=False)
    if result.returncode:
        sys.exit(result.stderr.decode())
    return result.stdout.decode().splitlines()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write what RE2/J answers, and compare nothing")
    parser.add_argument("release")
    options = parser.parse_args()
    asked = expressions(Random(options.seed), options.count)
    answers = re2js_answers(options.jar, asked)
    if options.record:
        lines = (json.dumps(each) for each in zip(asked, answers, strict=True))
        RECORDED.write_text("\n".join(lines) + "\n")
        return
    profile = profile_for(options.release)
    found = [each for each in zip(asked, answers, strict=True) if our_answer(each[0], profile) != each[1]]
    for text, answer in found[:10]:
        sys.stdout.write(f"{text!r}: ours {our_answer(text, profile)}, RE2/J's {answer}\n")
    sys.stdout.write(f"{options.release}: {len(asked)} expressions, {len(found)} mismatches\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
