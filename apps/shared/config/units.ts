import * as z from 'zod';

export const port = z.number().int().min(1).max(65_535);
/** A duration, at least one second. */
export const seconds = z.number().int().positive();
