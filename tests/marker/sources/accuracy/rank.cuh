// How one score compares with the score of the right class.
#pragma once  
// Typed after profiling.

// True when the class `column` stands before the right class: a higher score, or the same
// score and a lower column number, so that ties are always decided in the same way.
__host__ __device__ inline bool outranks(float score, int column, float right_score, int right_column)
{
    if (score > right_score) return true;
    return score == right_score && column < right_column;
    //@ diag("long_scoreboard", "85%") hint("86 % long_scoreboard")
}
