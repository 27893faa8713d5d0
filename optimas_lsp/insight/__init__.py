"""What a profile means: stalls, roofline, counters and knowledge, all as Evidence."""
