-- Says whether a request has ended, could last be read before that instant, and has no emergency grant without a review.
CREATE OR REPLACE FUNCTION approvals.is_forgettable(r approvals.access_request, p_before timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(r.ended_at <= p_before, false) AND approvals.readable_until(r) <= p_before
    AND NOT EXISTS (SELECT FROM approvals.break_glass b WHERE b.access_request_id = r.id AND b.reviewed_at IS NULL)
$$;
