"""`explain`: a question understood with everything the workspace has, and nothing searched.

The store, the tenant's own database and learned weights go in as they do in a search (pipeline.py).
"""

from __future__ import annotations

from recollect.domain.ids import new_id
from recollect.domain.query import QueryType, Strategy, Understanding
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.request import SearchRequest
from recollect.retrieval.understand import understand
from recollect.storage import scopes
from recollect.workspace import Workspace


async def explain_query(
    workspace: Workspace, context: TenantContext, request: SearchRequest
) -> Understanding:
    """How a search would read a query, learned weights included."""
    async with workspace.store.transaction(context, keep_plans=True) as tx:
        await scopes.describe_caller(tx, layers=request.layers)
        if request.scope is not None:
            await scopes.get_scope(tx, request.scope)
        domain = await workspace.domain(context, tx)

        async def strategy_for(kind: QueryType, default: Strategy) -> Strategy:
            choice = await workspace.strategies.strategy_for(tx, kind, default, new_id())
            return choice.strategy

        return await understand(
            tx,
            request.query,
            now=request.now,
            timezone=request.timezone,
            find_in_domain=None if domain is None else domain.find,
            ontology=None if domain is None else domain.ontology,
            strategy_for=strategy_for,
        )
