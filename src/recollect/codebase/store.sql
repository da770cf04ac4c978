-- What is kept of source trees between runs: a SQLite file below the Recollect home. It is a cache: it may be deleted.
-- Each query has a name, after "name:", and a sentence.

-- name: schema
-- Files by the hash of their content, their records apart (they are large), the trees they were last seen in, and
-- vectors of definitions by the hash of the text that was embedded.
create table if not exists content (
    sha256     text primary key,
    language   text,
    lines      integer not null,
    note       text not null,
    used_day   integer not null
) without rowid;
create table if not exists record (
    sha256     text primary key references content (sha256) on delete cascade,
    numbers    blob not null,
    definitions blob not null,
    symbol_references blob not null
);
create table if not exists tree (
    id         integer primary key,
    root       text not null unique,
    used_day   integer not null
);
create table if not exists file (
    tree       integer not null references tree (id) on delete cascade,
    path       text not null,
    size       integer not null,
    mtime_ns   integer not null,
    inode      integer not null,
    settled    integer not null,
    sha256     text,
    note       text not null,
    primary key (tree, path)
) without rowid;
create table if not exists vector (
    sha256     text not null,
    space      text not null,
    vector     blob not null,
    used_day   integer not null,
    primary key (space, sha256)
) without rowid;

-- name: get_tree
-- The number of a tree, and the day it was used last.
select id, used_day from tree where root = :root;

-- name: add_tree
-- A tree that is seen for the first time, or again.
insert into tree (root, used_day) values (:root, :day) on conflict (root) do update set used_day = :day;

-- name: tree_files
-- What was known of a tree's files.
select path, size, mtime_ns, inode, settled, sha256, note from file where tree = :tree;

-- name: any_content
-- Whether there is any record.
select 1 from content limit 1;

-- name: known_contents
-- Which of these contents (a JSON list) have a record.
select sha256 from content where sha256 in (select value from json_each(:hashes));

-- name: add_content
-- A content that was read.
insert into content (sha256, language, lines, note, used_day) values (:sha256, :language, :lines, :note, :day)
on conflict (sha256) do update set used_day = :day;

-- name: add_record
-- What was read from it.
insert into record (sha256, numbers, definitions, symbol_references)
values (:sha256, :numbers, :definitions, :references)
on conflict (sha256) do nothing;

-- name: put_file
-- A file as it was seen now.
insert into file (tree, path, size, mtime_ns, inode, settled, sha256, note)
values (:tree, :path, :size, :mtime_ns, :inode, :settled, :sha256, :note)
on conflict (tree, path) do update
set size = :size, mtime_ns = :mtime_ns, inode = :inode, settled = :settled, sha256 = :sha256, note = :note;

-- name: drop_file
-- A file that is gone.
delete from file where tree = :tree and path = :path;

-- name: tree_contents
-- Every file that has a record, by path, with what the arrays are built from.
select file.path, content.language, record.numbers
from file join content on content.sha256 = file.sha256 join record on record.sha256 = file.sha256
where file.tree = :tree order by file.path;

-- name: tree_languages
-- Every file that has a record, by path, without the record.
select file.path, content.language, content.lines, content.note
from file join content on content.sha256 = file.sha256
where file.tree = :tree order by file.path;

-- name: get_symbols
-- The record of one content.
select content.language, content.lines, record.definitions, record.symbol_references
from content join record on record.sha256 = content.sha256 where content.sha256 = :sha256;

-- name: drop_old_trees
-- Trees nobody has opened for long.
delete from tree where used_day < :day;

-- name: drop_old_contents
-- Records of no tree that nobody has used for long.
delete from content
where used_day < :day and sha256 not in (select sha256 from file where sha256 is not null);

-- name: get_vectors
-- The vectors of these definitions (a JSON list of hashes) in one space.
select sha256, vector from vector where space = :space and sha256 in (select value from json_each(:hashes));

-- name: add_vector
-- The vector of a definition.
insert into vector (sha256, space, vector, used_day) values (:sha256, :space, :vector, :day)
on conflict (space, sha256) do nothing;

-- name: keep_vectors
-- Vectors that were used today stay.
update vector set used_day = :day
where space = :space and used_day < :day and sha256 in (select value from json_each(:hashes));

-- name: drop_old_vectors
-- Vectors nobody has used for long.
delete from vector where used_day < :day;
