"""What happens with heads switched off (Kovaleva et al. 2019, Figures 8–9; Guan et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from headscope.figures import wording
from headscope.figures.ablation_panels import curve_panel, group_panel
from headscope.figures.ablation_rows import LOWER_IS_BETTER, Effect, metric_name, read_effects
from headscope.figures.change_colour import change_colour
from headscope.figures.head_values import HeadValue, head_records, shape_of
from headscope.figures.heatmap import Cells, heatmap
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.types import Stack

EDITS = {
    "uniform": "attention made uniform",
    "zero": "attention set to 0",
    "mean": "attention made the same for all queries",
    "intra": "attention only within a segment",
    "inter": "attention only across segments",
}
NOTE = (
    "The change of the metric when heads are switched off, on the same examples; intervals are "
    "95 % intervals of a paired bootstrap over examples, and q-values are corrected for looking at "
    "many heads (Benjamini–Hochberg). No change does not mean that a head does nothing: another "
    "may do the same, and the task may not ask for it. Heads that help and heads that harm both "
    "show."
)
CURVE = (
    " The order of the heads was found on a random half of the examples, the curve is drawn from "
    "the other."
)


@figure("ablation", tables=("ablation",), order=90)
def ablation(run: RunLike) -> Picture:
    """Heat maps for single heads, points for groups, a curve for accumulations."""
    effects = read_effects(run.table("ablation"))
    metrics = list(dict.fromkeys(e.metric for e in effects))
    shown = list(dict.fromkeys((metrics[0], "loss" if "loss" in metrics else metrics[-1])))
    edit = effects[0].edit
    told = EDITS.get(edit, edit)
    single = [e for e in effects if e.head is not None]
    steps = [e for e in effects if e.step]
    groups = [e for e in effects if e.head is None and not e.step]
    blocks: list[Chart] = []
    if len({e.head for e in single}) > 2:
        blocks.append(_maps(single, shown, told))
    elif single and not groups:
        groups = single
    if groups:
        panels = [group_panel([e for e in groups if e.metric == m], m, told) for m in shown]
        blocks.append(alt.concat(*panels, columns=2))
    if steps:
        panels = [curve_panel([e for e in steps if e.metric == m], m, told) for m in shown]
        blocks.append(alt.concat(*panels, columns=2))
    chart: Chart = blocks[0] if len(blocks) == 1 else alt.vconcat(*blocks, spacing=36)
    if len(blocks) > 1:
        merged = {}
        for block in blocks:
            if block.datasets is not alt.Undefined:
                merged.update(block.datasets)
                block.datasets = alt.Undefined
        if merged:
            chart.datasets = merged
    sentence = found(effects, metrics[0])
    return Picture(
        title="What the model loses with heads switched off",
        sentence=sentence,
        chart=chart,
        alt=f"Changes of {metric_name(metrics[0])} under ablation. {sentence}",
        note=NOTE + (CURVE if steps else ""),
        table=_table([e for e in effects if e.metric in shown]),
        prominence=12,
    )


def _maps(effects: Sequence[Effect], metrics: Sequence[str], told: str) -> Chart:
    values = [
        HeadValue(e.head, e.metric, e.delta, e.low, e.high, e.n)
        for e in effects
        if e.head is not None
    ]
    stacks = list(dict.fromkeys(v.head.stack for v in values))
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks:
        cells = Cells.of(*shape_of(values, stack), width=300)
        for metric in metrics:
            own = [e for e in effects if e.metric == metric and not math.isnan(e.delta)]
            reach = max((abs(e.delta) for e in own), default=1.0)
            worst = max(own, key=lambda e: e.harm, default=None)
            n_sure = sum(e.sure for e in own)
            panels.setdefault(stack, []).append(
                heatmap(
                    "heads",
                    stack=stack,
                    what=metric,
                    cells=cells,
                    colour=change_colour(
                        f"change of {metric_name(metric)}; orange is worse",
                        reach,
                        length=cells.width,
                        lower_is_better=metric in LOWER_IS_BETTER,
                    ),
                    title=f"Change of {metric_name(metric)}",
                    subtitle=f"{told}; {n_sure} of {len(own)} beyond chance"
                    + (f"; worst {worst.label}" if worst else ""),
                    value_title="change",
                    value_format="+.4f",
                    has_gaps=any(math.isnan(v.value) for v in values),
                )
            )
    data = {"heads": head_records(values)}
    return arranged(panels, columns=2, colour="independent", data=data)


def found(effects: Sequence[Effect], metric: str) -> str:
    """The ablation that hurts most, how many matter, and where pruning begins to cost."""
    own = [e for e in effects if e.metric == metric and not math.isnan(e.delta)]
    if not own:
        return "No ablation has data."
    name, start = metric_name(metric), own[0].baseline
    steps = sorted((e for e in own if e.step), key=lambda e: e.step)
    if steps:
        first = next((e for e in steps if e.sure and e.harm > 0), None)
        support = f"n = {wording.plural(own[0].n, 'example')}"
        if first is None:
            return (
                f"With all {wording.plural(len(steps), 'head')} of the curve switched off, {name} "
                f"is {steps[-1].value:.3f} instead of {start:.3f}; at no step is it worse by more "
                f"than chance ({support})."
            )
        return (
            f"{wording.capital(wording.plural(first.step - 1, 'head'))} of {len(steps)} can be "
            f"switched off one after the other before {name} ({start:.3f}) is worse by more than "
            f"chance, {first.value:.3f} at the next; with all {len(steps)} off it is "
            f"{steps[-1].value:.3f} ({support})."
        )
    worst = max(own, key=lambda e: e.harm)
    best = min(own, key=lambda e: e.harm)
    hurt = sum(e.sure and e.harm > 0 for e in own)
    help_ = sum(e.sure and e.harm < 0 for e in own)
    what = "head" if worst.head is not None else "group"
    label = f"Without head {worst.head}"
    if worst.head is None:
        label = f"With {worst.label} switched off"
    sentence = (
        f"{label}, {name} goes from {start:.3f} to {worst.value:.3f} "
        f"({worst.told()}, n = {wording.plural(worst.n, 'example')})"
    )
    if worst.harm <= 0:
        sentence = f"No {what} hurts {name} when it is switched off (baseline {start:.3f})"
    if len(own) > 1:
        sentence += (
            f"; {hurt} of {wording.plural(len(own), what)} hurt by more than chance, {help_} help"
        )
        if best.harm < 0 and help_:
            sentence += f" (most: {best.label}, {best.delta:+.3g})"
    return sentence + "."


def _table(effects: Sequence[Effect]) -> Table:
    chosen = sorted(effects, key=lambda e: (e.metric, -e.harm if not math.isnan(e.harm) else 9e9))
    rows = []
    for metric in dict.fromkeys(e.metric for e in chosen):
        for e in [e for e in chosen if e.metric == metric][:12]:
            rows.append(
                (
                    metric_name(metric),
                    e.label or "–",
                    f"{e.baseline:.4f}",
                    f"{e.value:.4f}",
                    f"{e.delta:+.4f}",
                    f"{e.low:+.4f} to {e.high:+.4f}",
                    "–" if math.isnan(e.q_value) else f"{e.q_value:.3f}",
                )
            )
    columns = ("metric", "switched off", "before", "after", "change", "95 % interval", "q")
    return Table(columns, tuple(rows))
