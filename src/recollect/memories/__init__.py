"""What happens to memories besides being searched: taken in, changed, exported, erased, re-embedded."""
