-- Outcomes: delegated, or past where the end is not in the future.
CREATE OR REPLACE FUNCTION approvals.delegate(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := clock_timestamp();
BEGIN
  IF (p ->> 'until')::timestamptz <= v_now THEN RETURN 'past'; END IF;
  INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegator_chain, delegate_subject, created_at,
      until)
    VALUES (p ->> 'id', p ->> 'delegator_issuer', p ->> 'delegator_subject',
      ARRAY(SELECT jsonb_array_elements_text(p -> 'delegator_roles')), ARRAY(SELECT jsonb_array_elements_text(p -> 'delegator_chain')),
      p ->> 'delegate_subject', v_now, (p ->> 'until')::timestamptz);
  RETURN 'delegated';
END $$;
