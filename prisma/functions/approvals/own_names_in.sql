-- Returns the person of a browser session of the inbox and all names of the requester who may confirm a stage, if the person has one of
-- them exactly, and whether their sign-in is recent enough. Returns no row for any other session, and for a stage that is not for the requester. The
-- session is read here, so no caller of this function can claim one: an agent's credential has none. `ownNamesIn` is the same rule
-- in the domain.
CREATE OR REPLACE FUNCTION approvals.own_names_in(p_stage jsonb, p_session text)
RETURNS TABLE (issuer text, subject text, names text[], is_fresh boolean) LANGUAGE sql STABLE AS $$
  SELECT person ->> 'issuer', person ->> 'subject', own.names || ARRAY(SELECT jsonb_array_elements_text(coalesce(requester -> 'keys', requester -> 'subjects'))), coalesce((person ->> 'signedInAt')::numeric
      >= extract(epoch FROM clock_timestamp()) - (requester ->> 'freshSeconds')::numeric, false)
    FROM approvals.session s, LATERAL (SELECT s.sess::jsonb -> 'person' AS person, p_stage #> '{approvers,requester}' AS requester) AS of_both,
      LATERAL (SELECT array_agg(name) AS names FROM jsonb_array_elements_text(
        jsonb_build_array(person -> 'subject') || coalesce(person -> 'aliases', '[]')) AS name WHERE requester -> 'subjects' ? name) AS own
    WHERE s.sid = p_session AND s.expire > clock_timestamp() AND person ->> 'issuer' = requester ->> 'issuer' AND own.names IS NOT NULL
$$;
