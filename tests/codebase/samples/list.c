#include <stdlib.h>
#include "list.h"
#define MAX_NODES 10
#define NEXT(n) ((n)->next)

struct node { struct node *next; int value; };
typedef struct node node_t;
enum mode { FAST, SLOW };
static int count = 0;

/* Adds to the front. */
node_t *list_push(node_t *head, int value)
{
    node_t *n = malloc(sizeof *n);
    NEXT(n) = head;
    return n;
}

int list_length(const node_t *head);
