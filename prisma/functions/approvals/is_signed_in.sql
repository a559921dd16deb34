-- Says whether a session of the inbox goes on. A sign-out, a logout by the issuer and its end remove it; a new sign-in begins another.
CREATE OR REPLACE FUNCTION approvals.is_signed_in(p_session text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM approvals.session WHERE sid = p_session AND expire > clock_timestamp())
$$;
