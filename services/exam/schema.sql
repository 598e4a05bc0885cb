-- The examination's tables, and the one rule that needs a lock: no answer is saved after the submission.

CREATE TABLE students (
    id integer PRIMARY KEY,
    account text NOT NULL UNIQUE,
    -- A fast hash is right here: codes are random 128-bit tokens, which nobody can guess however fast the hash.
    -- Slow hashes (scrypt, argon2) protect what people make up.
    code_sha256 bytea NOT NULL CHECK (octet_length(code_sha256) = 32)
);

CREATE TABLE questions (
    number smallint PRIMARY KEY CHECK (number > 0),
    title text NOT NULL,
    body text NOT NULL,
    choices text[] NOT NULL CHECK (cardinality(choices) = 4),
    correct text NOT NULL CHECK (correct IN ('A', 'B', 'C', 'D'))
);
-- Every second request reads a body: keep it in the row itself if it fits into a page of 8 kB, and never compressed.
ALTER TABLE questions SET (toast_tuple_target = 8160);
ALTER TABLE questions ALTER COLUMN body SET STORAGE EXTERNAL;

-- No foreign keys on purpose: save_answer() locks the student's row and is called with a question's own number, and
-- the keys' own checks would do both once more, with a lock on the question's row where all students would meet.
CREATE TABLE answers (
    student integer NOT NULL,
    question smallint NOT NULL,
    choice text NOT NULL CHECK (choice IN ('A', 'B', 'C', 'D')),
    saved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (student, question)
);

CREATE TABLE submissions (
    student integer PRIMARY KEY REFERENCES students,
    submitted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- True once the answer is saved, false after the submission.
-- A function, because the lock must be taken before the check: each statement in one sees what was committed before it.
CREATE FUNCTION save_answer(the_student integer, the_question smallint, the_choice text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM students WHERE id = the_student FOR KEY SHARE;
    INSERT INTO answers (student, question, choice)
    SELECT the_student, the_question, the_choice
    WHERE NOT EXISTS (SELECT FROM submissions WHERE student = the_student)
    ON CONFLICT (student, question) DO UPDATE SET choice = excluded.choice, saved_at = excluded.saved_at;
    RETURN FOUND;
END
$$;

-- Returns the number of answered questions; a second submission changes nothing.
CREATE FUNCTION submit_examination(the_student integer) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM students WHERE id = the_student FOR UPDATE;
    INSERT INTO submissions (student) VALUES (the_student) ON CONFLICT DO NOTHING;
    RETURN (SELECT count(*) FROM answers WHERE student = the_student);
END
$$;
