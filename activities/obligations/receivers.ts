import { Webhook } from 'standardwebhooks';
import type { Timing } from '../../apps/shared/limits.ts';
import type { ObligationMessage, ObligationReceiver } from '../../workflows/domain/authzen/obligation.ts';
import { ownProperty } from '../../workflows/domain/canonical-json.ts';
import { sendHttp } from '../clients/http.ts';
import { reveal, type SecretText } from '../clients/upstream/credentials.ts';

/** Statuses that say "not now" rather than "no". */
const LATER = [408, 425, 429];

interface ReceiverSetting {
  readonly url: string;
  /** Standard Webhooks secret, `whsec_…`. */
  readonly secret: SecretText;
}

/** The receivers that the operator names. Messages go to no other address. */
export interface ReceiverSettings {
  /** By the `to` of a notification. */
  readonly notification: Readonly<Record<string, ReceiverSetting>>;
  readonly custom?: ReceiverSetting | undefined;
  readonly sessionTermination?: ReceiverSetting | undefined;
}

export type ObligationReceivers = ReturnType<typeof createObligationReceivers>;

/** Receivers of obligations. Each gets webhooks that are signed with its own secret. Redirects are not followed. @see Standard Webhooks */
export function createObligationReceivers(settings: ReceiverSettings, { clock, limits }: Timing) {
  const settingOf = (to: ObligationReceiver): ReceiverSetting | undefined =>
    typeof to === 'string' ? settings[to] : ownProperty(settings.notification, to.notification);
  return {
    /** A text that is equal for equal receivers; `undefined` for one that the operator does not name. */
    known: (to: ObligationReceiver) => (settingOf(to) === undefined ? undefined : JSON.stringify(to)),
    /** `taken` with any status of 2xx; `refused` for good with a 4xx. Rejects when neither is certain: it may be sent again. */
    async send({ id, to, body }: ObligationMessage): Promise<'taken' | 'refused'> {
      const setting = settingOf(to);
      // The operator took it out of the configuration after it was queued.
      if (setting === undefined) return 'refused';
      const at = new Date(clock.now());
      const webhook = new Webhook(await reveal(setting.secret));
      const { status } = await sendHttp(setting.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
          'webhook-signature': webhook.sign(id, at, body),
        },
        body,
        timeoutMs: limits.obligationMs,
        clock,
      });
      if (status >= 200 && status < 300) return 'taken';
      if (status >= 400 && status < 500 && !LATER.includes(status)) return 'refused';
      throw new Error(`the receiver of an obligation answered ${status}`);
    },
  };
}
