import type { Logger } from 'pino';

interface ReportedProblem {
  readonly weight: 'fatal' | 'notable';
  readonly what: string;
  readonly nextStep: string;
}

/**
 * Says aloud what is wrong with a PDP that is not the embedded one. One that does not answer yet may start after us: until then
 * nothing is allowed. Never rejects.
 */
export async function reportPdpProblems(
  { check, log }: { readonly check: () => Promise<readonly ReportedProblem[]>; readonly log: Logger },
  url: string,
): Promise<void> {
  if (url.startsWith('http:')) log.warn({ url }, 'calls are sent to the policy decision point over plain http');
  try {
    const problems = await check();
    for (const { weight, what, nextStep } of problems) {
      const message = `the policy decision point: ${what}. Next: ${nextStep}`;
      if (weight === 'fatal') log.error({ alarm: 'pdp_misconfigured' }, message);
      else log.warn(message);
    }
    if (problems.length === 0) log.info({ url }, 'the policy decision point is fit for use');
  } catch (error) {
    log.warn({ err: error }, 'the policy decision point cannot be used yet; no call is allowed until it can');
  }
}
