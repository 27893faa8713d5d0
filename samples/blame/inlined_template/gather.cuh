// Reads from a table whose size is a power of two.
#pragma once

constexpr int kTableSize = 1 << 25;

template <typename T>
__device__ inline T gather(const T* table, int at)
{
    return table[at & (kTableSize - 1)];  //@ cause
}
