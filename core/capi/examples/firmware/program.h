/* The program and what it needs of its machine. */
#ifndef PROGRAM_H
#define PROGRAM_H

int firmware(void);           /* returns the exit status */
void print(const char *text); /* board.c, or host.c where there is an operating system */

#endif
