"""β_t, the schedule of the paper's theorem on RA-BO."""

import math

from uhebo.errors import InvalidInputError


def beta_schedule(
    t: int, dimension: int, *, delta: float = 0.1, a: float = 1.0, b: float = 1.0, r: float = 1.0
) -> float:
    """β_t of the theorem on RA-BO; the acquisition multiplies the deviation by its square root.

    β_t = 2 log((t/2)² 2π²/(3δ)) + 2d log((t/2)² d b r √(log(4da/δ)))

    `a` and `b` describe the tails of the sample paths' derivatives, P(sup|∂f/∂x| > L) ≤ a e^{-(L/b)²}, and r is the
    side of the domain (1 in the unit cube). The paper leaves them open; 1 is the customary choice. The theorem is about
    large t; at t = 1 the printed value can be negative, so it is floored at 0.
    """
    if t < 1 or dimension < 1 or not 0.0 < delta < 1.0 or min(b, r) <= 0.0 or 4 * dimension * a <= delta:
        raise InvalidInputError(
            f"t={t}, dimension={dimension}, delta={delta}, a={a}, b={b}, r={r}: "
            "expected t, dimension >= 1, 0 < delta < 1, positive b and r, and 4 dimension a > delta"
        )
    square = (t / 2.0) ** 2
    spread = dimension * b * r * math.sqrt(math.log(4 * dimension * a / delta))
    first = 2.0 * math.log(square * 2.0 * math.pi**2 / (3.0 * delta))
    return max(0.0, first + 2.0 * dimension * math.log(square * spread))
