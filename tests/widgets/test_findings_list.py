import pytest

from slotview.engine.observe.observation import Finding, Observation
from slotview.widgets.findings_list import FindingsList
from tests.widgets.host import hosting, screen_text
from tests.widgets.looks import look

PINNED = Finding(
    "idle", "2 requests wait while slot 1 is idle", "task 14 asked for slot 0", "send them without id_slot"
)
FULL = Finding("full", "the pool is 93 % active", "7 600 of 8 192 cells", "raise -c, or lower -np", "error", (0, 1))


def found(*findings: Finding) -> Observation:
    return Observation(findings=findings)


async def test_each_finding_stands_with_evidence_and_advice() -> None:
    findings = FindingsList()
    async with hosting(findings) as pilot:
        findings.show(look(observation=found(FULL, PINNED)))
        await pilot.pause()
        assert findings.text.splitlines() == [
            "✗ the pool is 93 % active",
            "  7 600 of 8 192 cells",
            "  → raise -c, or lower -np",
            "! 2 requests wait while slot 1 is idle",
            "  task 14 asked for slot 0",
            "  → send them without id_slot",
        ]
        assert "Findings: 2" in screen_text(pilot)


async def test_long_ones_wrap_and_scroll() -> None:
    findings = FindingsList()
    async with hosting(findings, size=(24, 8)) as pilot:
        findings.show(look(observation=found(FULL, PINNED)))
        await pilot.pause()
        assert "  idle" not in findings.text
        await pilot.press("end")
        await pilot.pause()
        assert "  id_slot" in findings.text


@pytest.mark.parametrize("width", range(24, 40, 3))
async def test_no_word_is_cut_at_the_edge(width: int) -> None:
    findings = FindingsList()
    async with hosting(findings, size=(width, 24)) as pilot:
        findings.show(look(observation=found(PINNED)))
        await pilot.pause()
        seen = " ".join(screen_text(pilot).replace("│", " ").split())
    for text in (PINNED.text, PINNED.evidence, PINNED.advice):
        assert text in seen


async def test_a_finding_that_ended_goes() -> None:
    findings = FindingsList()
    async with hosting(findings) as pilot:
        findings.show(look(observation=found(PINNED)))
        findings.show(look(observation=found()))
        await pilot.pause()
        assert findings.text == "nothing to report"


async def test_outside_words_are_inert() -> None:
    findings = FindingsList()
    async with hosting(findings) as pilot:
        findings.show(look(observation=found(Finding("k", "[red]x[/]\x1b[2J", "", ""))))
        await pilot.pause()
        assert findings.text == "! [red]x[/]␛[2J"
