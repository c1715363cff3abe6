"""What is said about the picture of a proof's slack."""

from __future__ import annotations

from ..base.numbers import format_number
from ..page.output import Caption
from ..theory.proofs.slack import Slack


def bar_caption(slack: Slack, allowed: str, rest: str = "") -> Caption:
    r"""Return the caption of `figures.slack.slack_bar`.

    Parameters
    ----------
    slack
        What the bar shows.
    allowed
        What privacy allows, in mathematics.
    rest
        One more sentence for the end of the caption.

    Examples
    --------
    >>> bar_caption(Slack(1.0, (("overlap", 0.5),)), r"$2\epsilon m$").text[:47]
    'In nats, privacy allows $2\\epsilon m =$ 1.5, an'
    """
    name, loss = slack.largest
    asked = "the theorem asks nothing of this mechanism"
    if slack.asked > 0:
        asked = f"the theorem asks for {format_number(slack.asked)}"
    text = (
        f"In {slack.unit}, privacy allows {allowed[:-1]} =$ {format_number(slack.allowed)}, and "
        f'{asked}. The steps of the proof lose the rest. The step "{name}" loses most: '
        f"{format_number(loss)}. {rest}"
    )
    return Caption(
        text.strip(),
        alt="A bar cut into pieces, one for each step of the proof, and below it each piece in a "
        f"row of its own with its name and its size in {slack.unit}. The first piece is what the "
        "theorem asks, to the left of zero where it asks nothing.",
    )
