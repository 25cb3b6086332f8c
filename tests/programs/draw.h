/* Random numbers of programs that differ with each seed. */
#ifndef DRAW_H
#define DRAW_H

static unsigned long long plan_state, own_state;

static unsigned word(unsigned long long *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(*state >> 33) ^ (unsigned)(*state >> 55);
}

/* The same at all ranks. */
static unsigned plan(unsigned bound)
{
    return word(&plan_state) % bound;
}

/* Each rank's own. */
static unsigned own(unsigned bound)
{
    return word(&own_state) % bound;
}

#endif
