// The energy grid of one nuclide and the search in it.
#pragma once

constexpr int kChannels = 5;

// One grid point: an energy and the five microscopic cross sections at it.
struct GridPoint {
    double energy;
    double section[kChannels];
};

// The last point whose energy is not above `energy`, but never the last point of the grid.
__host__ __device__ inline int find_interval(const GridPoint* grid, int points, double energy)
{
    int low = 0, high = points - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (grid[middle].energy > energy) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low;
}
