"""`explain`: a question understood with everything the workspace has, and nothing searched.

The store, the tenant's own database and learned weights go in as they do in a search (pipeline.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from recollect.domain.ids import new_id
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.query import QueryType, Strategy, Understanding
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.understand import understand
from recollect.storage import scopes
from recollect.workspace import Workspace


async def explain_query(
    workspace: Workspace,
    context: TenantContext,
    query: str,
    *,
    layers: Sequence[Layer] | None,
    scope: ScopeName | None,
    now: datetime,
    timezone: tzinfo,
) -> Understanding:
    """How a search would read a query, learned weights included."""
    async with workspace.store.transaction(context, keep_plans=True) as tx:
        await scopes.describe_caller(tx, layers=layers)
        if scope is not None:
            await scopes.get_scope(tx, scope)
        domain = await workspace.domain(context, tx)

        async def strategy_for(kind: QueryType, default: Strategy) -> Strategy:
            choice = await workspace.strategies.strategy_for(tx, kind, default, new_id())
            return choice.strategy

        return await understand(
            tx,
            query,
            now=now,
            timezone=timezone,
            find_in_domain=None if domain is None else domain.find,
            ontology=None if domain is None else domain.ontology,
            strategy_for=strategy_for,
        )
