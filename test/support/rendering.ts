import { gatewaySettings } from '../../apps/shared/config/gateway-settings.ts';
import type { Rendering } from '../../apps/gateway/wire/rendering.ts';

/** Answers in the form that they have when nothing is configured. */
export const RENDERING: Rendering = gatewaySettings.parse(undefined);
