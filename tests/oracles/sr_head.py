"""The head of the SR network, written out."""

import numpy as np


class PlainHead:
    """The head as its equations stand: a dictionary of rows for each table, psi in full."""

    def __init__(self, features, planes, tables):
        self.features, self.tables = features, tables
        self.planes = None if planes is None else planes.astype(np.float64)
        self.centre = np.zeros(features)
        self.rows = {}

    def code(self, phi):
        """(key, share) of all rows that count for one phi."""
        if self.planes is None:
            length = np.linalg.norm(phi)
            return [(j, value / length) for j, value in enumerate(phi)]
        sides = (phi - self.centre) @ self.planes > 0.0
        return [
            ((t, *side), self.tables**-0.5) for t, side in enumerate(np.split(sides, self.tables))
        ]

    def psi(self, phi):
        parts = [x * self.rows.get(key, np.zeros(self.features)) for key, x in self.code(phi)]
        return np.sum(parts, axis=0)

    def learn(self, phi, goal, eta, rate):
        self.centre += rate * (phi.mean(axis=0) - self.centre)
        errors = [wanted - self.psi(row) for row, wanted in zip(phi, goal, strict=True)]
        for row, error in zip(phi, errors, strict=True):
            for key, x in self.code(row):
                old = self.rows.get(key, np.zeros(self.features))
                self.rows[key] = old + min(eta, 1 / len(phi)) * x * error
