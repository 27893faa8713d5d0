// Fourth-order central differences on the displacement field u[point][component].
#pragma once

constexpr int kComponents = 3;

// Second derivative along the axis whose neighbours lie `stride` values apart.
__host__ __device__ inline double second_derivative(const double* u, long long at, long long stride, double h)
{
    return (-u[at - 2 * stride] + 16.0 * u[at - stride] - 30.0 * u[at] + 16.0 * u[at + stride] -
    //@ diag("long_scoreboard", "14%") diag("uncoalesced-global", "14%") hint("17 % long_scoreboard")
            u[at + 2 * stride]) /
           (12.0 * h * h);
}

// First derivative along one axis.
__host__ __device__ inline double first_derivative(const double* u, long long at, long long stride, double h)
{
    return (u[at - 2 * stride] - 8.0 * u[at - stride] + 8.0 * u[at + stride] - u[at + 2 * stride]) / (12.0 * h);
    //@ diag("long_scoreboard", "20%") diag("uncoalesced-global", "20%") hint("44 % long_scoreboard")
}

// Mixed second derivative: the first derivative along `b` of first derivatives along `a`.
__host__ __device__ inline double mixed_derivative(const double* u, long long at, long long a, long long b, double h)
{
    return (first_derivative(u, at - 2 * b, a, h) - 8.0 * first_derivative(u, at - b, a, h) +
            8.0 * first_derivative(u, at + b, a, h) - first_derivative(u, at + 2 * b, a, h)) /
           (12.0 * h);
}
