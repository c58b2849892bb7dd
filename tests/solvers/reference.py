"""Algorithms 1 and 2 written down line by line, slowly and plainly: what the fast solver must equal."""

import numpy as np


def reference_admm(M, Y, project_x, project_y, alpha, beta, iterations, *, gamma=1.0, mu=2.0, nu=5.0, epsilon=5e-4, q=5):
    """The iterates of Algorithm 1 with Algorithm 2; yields X, Y, U, V, α, β and the case letters."""
    m, n = M.shape
    p = len(Y)
    U, V = np.zeros((m, p)), np.zeros((p, n))
    Lam, Pi = np.zeros((m, p)), np.zeros((p, n))
    rows, out = [], []
    for k in range(1, iterations + 1):
        X = (M @ Y.T + alpha * U - Lam) @ np.linalg.inv(Y @ Y.T + alpha * np.eye(p))
        Y = np.linalg.inv(X.T @ X + beta * np.eye(p)) @ (X.T @ M + beta * V - Pi)
        U = project_x(X + Lam / alpha)
        V = project_y(Y + Pi / beta)
        Lam = Lam + gamma * alpha * (X - U)
        Pi = Pi + gamma * beta * (Y - V)
        used = (alpha, beta)
        rows.append([np.linalg.norm(M - U @ V), np.linalg.norm(M - X @ Y), np.linalg.norm(X - U), np.linalg.norm(Y - V)])
        case = ""
        if k % q == 0 and k >= 2 * q:
            now, before = np.mean(rows[-q:], axis=0), np.mean(rows[-2 * q : -q], axis=0)
            if now[0] < (1 - epsilon) * before[0]:
                case = "skip"
            elif abs(now[0] / now[1] - 1) <= epsilon:
                case, alpha, beta = "1", alpha / nu, beta / nu
            elif now[2] >= before[2] or now[3] >= before[3]:
                case = "2"
                if now[2] >= before[2]:
                    case, alpha = case + "a", alpha * mu
                if now[3] >= before[3]:
                    case, beta = case + "b", beta * mu
            elif now[1] >= (1 - epsilon) * before[1]:
                case, alpha, beta = "3a", alpha / nu, beta / nu
            else:
                case, alpha, beta = "3b", alpha * mu, beta * mu
        out.append((X, Y, U, V, *used, case, *rows[-1]))
    return out
