import { gatewaySettings } from '../../apps/shared/config/gateway-settings.ts';
import type { Rendering } from '../../apps/gateway/wire/rendering.ts';

/** Answers in the default form. */
export const RENDERING: Rendering = {
  ...gatewaySettings.parse(undefined),
  gatewayUrl: 'https://gateway.test',
};
