import type { Pool } from 'pg';

interface Row {
  body: string;
  idempotency_key: string;
  access_request_id: string | null;
  evaluation_id: string | null;
  approval: string | null;
}

/** Every text of the approval side that the enforcement side holds: none of it may reach an agent. */
export async function approvalArtefacts(database: Pool): Promise<string[]> {
  const { rows } = await database.query<Row>(`
    SELECT s.body, s.idempotency_key, s.access_request_id, d.evaluation_id, a.body AS approval
    FROM gateway.submission s JOIN gateway.decision d USING (gated_call_id)
    LEFT JOIN gateway.approval a USING (gated_call_id)`);
  const texts = rows.flatMap((row) => {
    const { denial, callback } = JSON.parse(row.body) as {
      denial: { binding_token: string; evaluation_id: string };
      callback: { state: string };
    };
    const approval = JSON.parse(row.approval ?? '{}') as { id?: string; state?: string };
    return [
      row.idempotency_key,
      row.access_request_id,
      row.evaluation_id,
      denial.binding_token,
      denial.evaluation_id,
      callback.state,
      approval.id,
      approval.state,
    ];
  });
  return [...new Set(texts.filter((text) => typeof text === 'string' && text !== ''))] as string[];
}

/** The task behind an access request. */
export async function taskIdOf(database: Pool, accessRequestId: string | undefined): Promise<string> {
  const { rows } = await database.query<{ task_id: string }>(
    `SELECT g.task_id FROM gateway.gated_call g JOIN gateway.submission s ON s.gated_call_id = g.id
     WHERE s.access_request_id = $1`,
    [accessRequestId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`no task for ${accessRequestId}`);
  return row.task_id;
}
