"""Simulated measurements, for tests and benchmarks: a release's noise drawn from a seed."""

import dataclasses

import numpy as np

from microdata_price.release.measure import measure_privately


def seeded(table, schema, workload, guarantee, rng, **more):
    """Measure with the mechanism's own law, drawn from a generator: the same on every run."""
    made = measure_privately(np.asarray(table, float), schema, workload, guarantee, **more)
    laws, scales = made.mechanism.noise, made.mechanism.scales

    def adding(law):
        return lambda answers: (np.asarray(answers) + law.sample(rng, len(answers))).astype(int)

    rules = tuple(None if s == 0 else adding(n) for n, s in zip(laws, scales, strict=True))
    mechanism = dataclasses.replace(made.mechanism, add_noise=rules)
    answers = mechanism.noisy(made.workload.answers(table))
    return dataclasses.replace(made, mechanism=mechanism, answers=answers)
