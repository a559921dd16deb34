-- Wakes the workflow of a call. Like a callback it is a hint, and moves nothing by itself. The outbox keeps it until it is
-- delivered, so there is no look for a minute: where thousands wait for their turn, each would add another poke.
CREATE OR REPLACE FUNCTION gateway.wake(p_call uuid) RETURNS void LANGUAGE sql AS $$
  SELECT gateway.put_look_off(p_call, 60000);
  SELECT gateway.enqueue('poke_workflow', p_call::text);
$$;
