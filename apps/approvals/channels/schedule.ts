import type { ChannelName, NotifySettings, QuietHours } from '../../shared/config/channel-settings.ts';
import type { Config } from '../../shared/config/config.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { templatesIn } from '../../shared/rules/rules.ts';
import { ownProperty } from '../../../workflows/domain/canonical-json.ts';

const MINUTE_MS = 60_000;
/** A day with 25 hours. */
const MOST_MINUTES = 25 * 60;

/**
 * The first instant, at or after this one, that is not in the quiet hours. In milliseconds since 1970. Looks at each minute as the time
 * zone has it, so that changes of the clock are right.
 */
export function afterQuietHours(at: number, { from, until }: QuietHours, timeZone: string): number {
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone });
  const isQuiet = (instant: number) => {
    const time = clock.format(instant);
    return from < until ? time >= from && time < until : time >= from || time < until;
  };
  if (!isQuiet(at)) return at;
  const minute = Math.ceil((at + 1) / MINUTE_MS) * MINUTE_MS;
  const later = Array.from({ length: MOST_MINUTES }, (_, index) => minute + index * MINUTE_MS);
  return later.find((instant) => !isQuiet(instant)) ?? at;
}

const USUAL: NotifySettings = { urgent: false, arguments: [] };

/** How people are told about requests of a template, by the current configuration. */
export function notifyOf({ approvals }: Pick<Config, 'approvals'>, template: string | undefined): NotifySettings {
  const names = template === undefined ? [] : templatesIn(template);
  const settings = names.map((name) => ownProperty(approvals.templates, name)?.notify ?? USUAL);
  const [first, ...others] = settings;
  if (first === undefined) return USUAL;
  // A request that must meet several templates shows only arguments that each of them shows.
  return {
    ...(others.length === 0 && first.channels && { channels: first.channels }),
    urgent: settings.some(({ urgent }) => urgent),
    arguments: first.arguments.filter((name) => others.every((one) => one.arguments.includes(name))),
  };
}

/** The delay of a channel from the opening of a stage, in milliseconds. Undefined if the channel is not for this template. */
export function delayOf(
  channel: ChannelName,
  { channels }: NotifySettings,
  settings: Config['approvals']['channels'],
): number | undefined {
  const seconds = channels === undefined ? (settings[channel]?.afterSeconds ?? 0) : channels[channel];
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** When this person may get a message that is due at an instant, in milliseconds since 1970. */
export function whenAllowed(
  at: number,
  person: string,
  {
    settings,
    notify,
    people,
  }: { settings: Config['approvals']['channels']; notify: NotifySettings; people: Directory },
): number {
  const { quietHours } = settings;
  if (quietHours === undefined || notify.urgent) return at;
  return afterQuietHours(at, quietHours, people.find(person)?.timeZone ?? quietHours.timeZone);
}
