"""The synchronous client: the calls of async_client.py, each waiting for its answer.

A portal (portal.py) runs the coroutines in a thread of its own. `blocking` makes a call that waits out of one that is
awaited, with the same parameters, result and docstring, for type checkers and editors too; a verb that is added to an
asynchronous class gets its line here.
"""

from __future__ import annotations

from os import PathLike
from typing import Self

from recollect.client.async_client import AsyncRecollect
from recollect.client.entities import AsyncEntities, AsyncOntology
from recollect.client.events import AsyncEvents, AsyncTraces
from recollect.client.learning import AsyncLearning
from recollect.client.library import AsyncLibrary
from recollect.client.oracle import AsyncConsultations, AsyncExplorations
from recollect.client.portal import Portal, SyncFace, blocking
from recollect.client.tenancy import AsyncKeys, AsyncMembers, AsyncScopes, AsyncTenants
from recollect.config import Settings
from recollect.domain.tenancy import TenantContext


class Entities(SyncFace):
    """Entities of the caller's tenant: what memories and questions name."""

    declare = blocking(AsyncEntities.declare)
    alias = blocking(AsyncEntities.alias)
    list = blocking(AsyncEntities.list)
    graph = blocking(AsyncEntities.graph)
    forget = blocking(AsyncEntities.forget)


class Events(SyncFace):
    """What happened to memories and in consultations during the last week, as far as the caller may know."""

    list = blocking(AsyncEvents.list)


class Traces(SyncFace):
    """Searches as they were recorded: the caller's own, or all of the tenant's for an admin."""

    list = blocking(AsyncTraces.list)
    get = blocking(AsyncTraces.get)


class Keys(SyncFace):
    """Keys by which applications speak to `recollect serve`: each is bound to who it speaks for."""

    create = blocking(AsyncKeys.create)
    list = blocking(AsyncKeys.list)
    revoke = blocking(AsyncKeys.revoke)
    rotate = blocking(AsyncKeys.rotate)
    link = blocking(AsyncKeys.link)
    redeem = blocking(AsyncKeys.redeem)
    leave = blocking(AsyncKeys.leave)
    context_of = blocking(AsyncKeys.context_of)


class Learning(SyncFace):
    """What searches have taught. Needs the admin role, but for `log_retrieval_event`."""

    log_retrieval_event = blocking(AsyncLearning.log_retrieval_event)
    status = blocking(AsyncLearning.status)
    train = blocking(AsyncLearning.train)
    bootstrap = blocking(AsyncLearning.bootstrap)
    runs = blocking(AsyncLearning.runs)
    run = blocking(AsyncLearning.run)
    start_experiment = blocking(AsyncLearning.start_experiment)
    stop_experiment = blocking(AsyncLearning.stop_experiment)
    report = blocking(AsyncLearning.report)
    reset = blocking(AsyncLearning.reset)


class Library(SyncFace):
    """Whole documents: kept with their lines and pages, found by section, cited by line."""

    add = blocking(AsyncLibrary.add)
    add_folder = blocking(AsyncLibrary.add_folder)
    resume = blocking(AsyncLibrary.resume)
    list = blocking(AsyncLibrary.list)
    get = blocking(AsyncLibrary.get)
    sections = blocking(AsyncLibrary.sections)
    text = blocking(AsyncLibrary.text)
    search = blocking(AsyncLibrary.search)
    remove = blocking(AsyncLibrary.remove)


class Ontology(SyncFace):
    """What the tenant's own database is about, and what it says."""

    declare = blocking(AsyncOntology.declare)
    get = blocking(AsyncOntology.get)
    check = blocking(AsyncOntology.check)
    clear = blocking(AsyncOntology.clear)
    query = blocking(AsyncOntology.query)


class Consultations(SyncFace):
    """What was asked and answered: the caller's own consultations, or all of the tenant's for an admin."""

    list = blocking(AsyncConsultations.list)
    get = blocking(AsyncConsultations.get)
    events = blocking(AsyncConsultations.events)
    repeat = blocking(AsyncConsultations.repeat)
    end_session = blocking(AsyncConsultations.end_session)


class Explorations(SyncFace):
    """Explorations that were made: those in the store, where one is open, and the records in `rlm_audit_dir`.

    Needs operator: whoever explores reads the machine's disk.
    """

    list = blocking(AsyncExplorations.list)
    get = blocking(AsyncExplorations.get)
    replay = blocking(AsyncExplorations.replay)


class Tenants(SyncFace):
    """Tenants of the store."""

    create = blocking(AsyncTenants.create)
    list = blocking(AsyncTenants.list)
    get = blocking(AsyncTenants.get)
    forget = blocking(AsyncTenants.forget)
    set_retention = blocking(AsyncTenants.set_retention)
    set_recursion = blocking(AsyncTenants.set_recursion)
    set_traces = blocking(AsyncTenants.set_traces)


class Scopes(SyncFace):
    """Scopes of the caller's tenant."""

    create = blocking(AsyncScopes.create)
    list = blocking(AsyncScopes.list)
    move = blocking(AsyncScopes.move)
    delete = blocking(AsyncScopes.delete)


class Members(SyncFace):
    """Memberships of the caller's tenant."""

    add = blocking(AsyncMembers.add)
    remove = blocking(AsyncMembers.remove)
    list = blocking(AsyncMembers.list)


class Recollect(SyncFace):
    """Memories of agents: stored durably, isolated by tenant and scope, found by meaning and by words.

    With nothing given, the store is an embedded PostgreSQL under the platform's user data folder, and the
    caller is this operating system's user with every right to it. With a `url`, and a key for it, the same verbs are
    asked of a server.
    """

    _async: AsyncRecollect

    def __init__(
        self,
        home: str | PathLike[str] | None = None,
        database_url: str | None = None,
        context: TenantContext | None = None,
        settings: Settings | None = None,
        *,
        url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        self._async = AsyncRecollect(home, database_url, context, settings, url=url, api_key=api_key)
        self._portal = Portal(on_close=self._async.close)
        self._owns_portal = True

    @classmethod
    def _around(cls, client: AsyncRecollect, portal: Portal) -> Recollect:
        face = cls.__new__(cls)
        face._async, face._portal, face._owns_portal = client, portal, False
        return face

    @property
    def tenant_context(self) -> TenantContext:
        """Who is asking."""
        return self._async.tenant_context

    @property
    def settings(self) -> Settings:
        """The settings this client was made with."""
        return self._async.settings

    @property
    def tenants(self) -> Tenants:
        """Create, list and forget tenants; set their retention and routing."""
        return Tenants(self._async.tenants, self._portal)

    @property
    def scopes(self) -> Scopes:
        """Create, list, move and delete scopes."""
        return Scopes(self._async.scopes, self._portal)

    @property
    def members(self) -> Members:
        """Who belongs to which scope."""
        return Members(self._async.members, self._portal)

    @property
    def entities(self) -> Entities:
        """Declare, list and forget entities; call them by other names."""
        return Entities(self._async.entities, self._portal)

    @property
    def library(self) -> Library:
        """Whole documents: add, list, search, read and remove them."""
        return Library(self._async.library, self._portal)

    @property
    def events(self) -> Events:
        """What happened lately to memories and in consultations."""
        return Events(self._async.events, self._portal)

    @property
    def traces(self) -> Traces:
        """Searches as they were recorded: whose, what they found, and how long their stages took."""
        return Traces(self._async.traces, self._portal)

    @property
    def keys(self) -> Keys:
        """Keys by which applications speak to a server: make, list, rotate and revoke them. For admins."""
        return Keys(self._async.keys, self._portal)

    @property
    def learning(self) -> Learning:
        """What searches have taught: status, training, experiments. For admins."""
        return Learning(self._async.learning, self._portal)

    @property
    def ontology(self) -> Ontology:
        """What the tenant's own database is about, and what it says."""
        return Ontology(self._async.ontology, self._portal)

    @property
    def consultations(self) -> Consultations:
        """What the oracle was asked: list, show, ask again."""
        return Consultations(self._async.consultations, self._portal)

    @property
    def explorations(self) -> Explorations:
        """What explorations of code found: list, show, play again."""
        return Explorations(self._async.explorations, self._portal)

    def for_context(self, context: TenantContext) -> Recollect:
        """The same store as another caller sees it, on the same connections; a server's key must speak for them."""
        return Recollect._around(self._async.for_context(context), self._portal)

    def open(self) -> Self:
        """Start or join the database now instead of at the first call; a server is there already."""
        self._portal.run(self._async.open())
        return self

    def close(self) -> None:
        """Close the connections; the embedded server runs on for others.

        What `for_context` gave stands on the connections of the client it came from: closing it closes nothing.
        """
        if self._owns_portal:
            self._portal.close()
        elif not self._portal.is_closed:
            self._portal.run(self._async.close())

    def __enter__(self) -> Recollect:
        self._portal.run(self._async.__aenter__())
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    add = blocking(AsyncRecollect.add)
    add_many = blocking(AsyncRecollect.add_many)
    get = blocking(AsyncRecollect.get)
    list = blocking(AsyncRecollect.list)
    count = blocking(AsyncRecollect.count)
    update = blocking(AsyncRecollect.update)
    delete = blocking(AsyncRecollect.delete)
    history = blocking(AsyncRecollect.history)
    feedback = blocking(AsyncRecollect.feedback)
    supersede = blocking(AsyncRecollect.supersede)
    restore = blocking(AsyncRecollect.restore)
    conflicts = blocking(AsyncRecollect.conflicts)
    explain = blocking(AsyncRecollect.explain)
    search = blocking(AsyncRecollect.search)
    search_dry_run = blocking(AsyncRecollect.search_dry_run)
    context = blocking(AsyncRecollect.context)
    export_jsonl = blocking(AsyncRecollect.export_jsonl)
    import_jsonl = blocking(AsyncRecollect.import_jsonl)
    ask = blocking(AsyncRecollect.ask)
    ask_dry_run = blocking(AsyncRecollect.ask_dry_run)
    oracle_consult = blocking(AsyncRecollect.oracle_consult)
    oracle_dry_run = blocking(AsyncRecollect.oracle_dry_run)
    advise = blocking(AsyncRecollect.advise)
    capabilities = blocking(AsyncRecollect.capabilities)
    verify = blocking(AsyncRecollect.verify)
    explore = blocking(AsyncRecollect.explore)
    explore_dry_run = blocking(AsyncRecollect.explore_dry_run)
    forget_user = blocking(AsyncRecollect.forget_user)
    sweep = blocking(AsyncRecollect.sweep)
    consolidate = blocking(AsyncRecollect.consolidate)
    reembed = blocking(AsyncRecollect.reembed)
    build_index = blocking(AsyncRecollect.build_index)
    compact = blocking(AsyncRecollect.compact)
    status = blocking(AsyncRecollect.status)
    overview = blocking(AsyncRecollect.overview)
    doctor = blocking(AsyncRecollect.doctor)
